"""Qlik Replicate change tables."""
