"""How results are shown: numbers, sentences, tables, charts and pages."""
