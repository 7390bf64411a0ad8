"""What tests and campaigns share: slow twins, oracles, random grammars and schemas, vocabularies."""
