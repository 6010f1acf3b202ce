"""What several tests need: models, servers, files, tables and runs of the workflow."""
