"""Steppers: plain forward steps taken many at a time, where hardware can do that by itself."""

from .._base import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
