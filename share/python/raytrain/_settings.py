"""The train_loop_config of a worker's script, which knows what was read of it."""

from __future__ import annotations


class Settings(dict):
    """A train_loop_config that remembers which keys were read, so that the worker can name
    those that were not, perhaps because they are misspelt. Who looks at all of it has
    read every key."""

    def __init__(self, values: dict):
        super().__init__({name: Settings(value) if type(value) is dict else value
                          for name, value in values.items()})
        self.asked: set = set()
        self.all_asked = False

    def _ask(self, name: object) -> None:
        if isinstance(name, str):
            self.asked.add(name)

    def _ask_all(self) -> None:
        self.all_asked = True
        for value in super().values():
            if isinstance(value, Settings):
                value._ask_all()

    def known(self, prefix: str = "") -> list:
        """The dotted names that were asked for, also those that are not there."""
        names = {prefix + name for name in
                 (self.asked | set(super().keys()) if self.all_asked else self.asked)}
        for name, value in super().items():
            if isinstance(value, Settings):
                names.update(value.known(f"{prefix}{name}."))
        return sorted(names)

    def __getitem__(self, name):
        self._ask(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        self._ask(name)
        return super().__contains__(name)

    def get(self, name, default=None):
        self._ask(name)
        return super().get(name, default)

    def pop(self, name, *default):
        self._ask(name)
        return super().pop(name, *default)

    def setdefault(self, name, default=None):
        self._ask(name)
        return super().setdefault(name, default)

    def __iter__(self):
        self._ask_all()
        return super().__iter__()

    def keys(self):
        self._ask_all()
        return super().keys()

    def items(self):
        self._ask_all()
        return super().items()

    def values(self):
        self._ask_all()
        return super().values()

    def copy(self):
        return self._plain()

    def __eq__(self, other):
        self._ask_all()
        return super().__eq__(other)

    __hash__ = None

    def __or__(self, other):
        return self._plain() | other

    def __ror__(self, other):
        return other | self._plain()

    def __repr__(self):
        return repr(self._plain())

    def __reduce__(self):
        """A copy, or what a child gets, is a dict."""
        return dict, (self._plain(),)

    def _plain(self) -> dict:
        self._ask_all()
        return {name: value._plain() if isinstance(value, Settings) else value
                for name, value in super().items()}
