"""Arrays, numbers, text, files and executors: what every other package builds on."""

from ._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
