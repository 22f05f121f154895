"""Services: language and embedding models, a module for each dialect. SDKs are imported on first use."""
