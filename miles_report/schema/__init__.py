"""Declarations only: tables, stream records, vocabularies; every other part reads them, nothing here computes."""
