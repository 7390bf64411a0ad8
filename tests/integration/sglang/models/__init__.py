"""Models that SGLang finds by SGLANG_EXTERNAL_MODEL_PACKAGE."""
