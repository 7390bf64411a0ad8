"""The exactness campaign (`runner`), and those of JSON Schema (`schema_*`)."""
