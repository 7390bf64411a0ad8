"""JSON texts as regular languages: numbers, their spellings, strings and the formats of JSON Schema."""
