"""A server that judges answers over HTTP and on a web page; concurrent requests are combined into batches."""
