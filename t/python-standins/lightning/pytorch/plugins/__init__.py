"""As in Lightning, environments is a module of this package that it does not import."""
