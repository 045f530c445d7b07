"""Texts labelled with an intent, and pairs of them."""
