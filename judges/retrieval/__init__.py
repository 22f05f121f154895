"""How good a retrieval is, measured without a model: relevance of documents, their order, and metrics of both."""
