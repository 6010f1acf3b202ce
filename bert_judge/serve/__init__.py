"""One process that judges what clients send it, over HTTP and on a web page; it gathers what all of them ask into full batches."""
