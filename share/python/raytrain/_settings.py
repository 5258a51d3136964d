"""The train_loop_config of a worker's script, which knows what was read of it."""

from __future__ import annotations

from typing import Any, Dict, ItemsView, Iterator, KeysView, ValuesView


class Settings(Dict[str, Any]):
    """A train_loop_config that remembers which keys were read, so that the worker can
    name those that were not, perhaps because they are misspelt. Who looks at all of it
    has read every key."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__({name: Settings(value) if type(value) is dict else value
                          for name, value in values.items()})
        self.asked: set[str] = set()
        self.all_asked = False

    def _ask(self, name: object) -> None:
        if isinstance(name, str):
            self.asked.add(name)

    def _ask_all(self) -> None:
        self.all_asked = True
        for value in super().values():
            if isinstance(value, Settings):
                value._ask_all()

    def known(self, prefix: str = "") -> list[str]:
        """The dotted names that were asked for, also those that are not there."""
        names = {prefix + name for name in
                 (self.asked | set(super().keys()) if self.all_asked else self.asked)}
        for name, value in super().items():
            if isinstance(value, Settings):
                names.update(value.known(f"{prefix}{name}."))
        return sorted(names)

    def __getitem__(self, name: str) -> Any:
        self._ask(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._ask(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._ask(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        self._ask(name)
        return super().pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        self._ask(name)
        return super().setdefault(name, default)

    def __iter__(self) -> Iterator[str]:
        self._ask_all()
        return super().__iter__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        self._ask_all()
        return super().keys()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        self._ask_all()
        return super().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        self._ask_all()
        return super().values()

    def copy(self) -> dict[str, Any]:
        return self._plain()

    def __eq__(self, other: object) -> bool:
        self._ask_all()
        return super().__eq__(other)

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return self._plain() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._plain()

    def __repr__(self) -> str:
        return repr(self._plain())

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or what a child gets, is a dict."""
        return dict, (self._plain(),)

    def _plain(self) -> dict[str, Any]:
        self._ask_all()
        return {name: value._plain() if isinstance(value, Settings) else value
                for name, value in super().items()}
