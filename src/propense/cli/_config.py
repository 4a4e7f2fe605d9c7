"""The options of a command from a TOML file: flags win over the file."""

import difflib
import inspect
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from propense.errors import InvalidOption

__all__ = ["Config", "configuration"]

# A larger file is not one of options.
_LARGEST = 1_000_000
# What a file cannot set, because it is about this call: other files, and what is only printed.
_NOT_OPTIONS = ("config", "help", "json")


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options of the file the defaults of this call."""
    if path is None or context.resilient_parsing:
        return path
    known = {key: each for each in context.command.params for key in _keys(each)}
    kinds = _kinds(context.command)
    defaults: dict[str, Any] = {**(context.default_map or {})}
    for key, value in _options(path, context):
        option = known.get(key.replace("_", "-"))
        if option is None or option.name in _NOT_OPTIONS:
            raise InvalidOption(f"{path}: there is no option {key!r}.{_meant(key, known)}")
        if option.name in defaults:
            raise InvalidOption(f"{path}: the option {key!r} is given twice. Leave out one.")
        defaults[str(option.name)] = _converted(value, option, kinds, path, key)
    context.default_map = defaults
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help='A TOML file with options by their names, such as label = "reported". Options on the command line take '
        "precedence.",
        is_eager=True,
        callback=_read_config,
    ),
]


def configuration(context: typer.Context, lists: Mapping[str, Sequence[str] | None]) -> dict[str, Any]:
    """The options of this call by the names that a file has for them, those with their default value left out.

    `lists` are the names that lists with commas were split into, by the name of the option.
    """
    found: dict[str, Any] = {}
    kinds = _kinds(context.command)
    for each in context.command.params:
        source = context.get_parameter_source(str(each.name))
        if each.name in _NOT_OPTIONS or source is None or source.name == "DEFAULT":
            continue
        value: Any = context.params.get(str(each.name))
        if value is not None and value != []:
            value = lists.get(str(each.name)) or value
            # typer before 0.29 has not made paths of them yet.
            found[_keys(each)[0]] = Path(value) if kinds.get(str(each.name)) is Path else value
    return found


def _keys(parameter: Any) -> list[str]:
    """What a file calls an option: its flag without the dashes; an argument by its name in lower case."""
    if parameter.param_type_name == "argument":
        return [str(parameter.name).replace("_", "-")]
    return [each.removeprefix("--") for each in parameter.opts if each.startswith("--")]


def _options(path: Path, context: typer.Context) -> Iterator[tuple[str, Any]]:
    """The options of a file: at its top, and in the table that has the name of the command."""
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidOption(f"{path} has more than {_LARGEST:,} bytes. Is it a file of options?")
        text = path.read_bytes().decode("utf-8-sig")
        found = tomllib.loads(text)
    except OSError as error:
        raise InvalidOption(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise InvalidOption(f"{path} is not text in UTF-8. A file of options is TOML.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidOption(f'{path} is not TOML: {error}. Write options as label = "reported".') from None
    except (ValueError, RecursionError):
        raise InvalidOption(
            f"{path} is not TOML that can be read: its numbers are too long, or its brackets too deep."
        ) from None
    mine, group = str(context.command.name), getattr(context.parent, "command", None)
    others = set(getattr(group, "commands", {})) - {mine}
    for key, value in found.items():
        if not isinstance(value, dict) or key not in {mine, *others}:
            yield key, value
        elif key == mine:
            # Tables of other commands may be in the same file.
            yield from value.items()


def _meant(key: str, known: dict[str, Any]) -> str:
    names = [name for name, each in known.items() if each.name not in _NOT_OPTIONS]
    near = difflib.get_close_matches(key.replace("_", "-"), names, 3, 0.6)
    # Letters that changed places are the likeliest mistake.
    near.sort(key=lambda name: sorted(name) != sorted(key))
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" The options are: {', '.join(names)}."


def _converted(value: Any, option: Any, kinds: dict[str, type], path: Path, key: str) -> Any:
    """A value as the command line would give it; an error if it is of another type."""
    kind = kinds.get(str(option.name), str)
    kind = str if kind is Path else kind
    if value == [] or value == {}:
        raise InvalidOption(f"{path}: {key} = {value!r} names nothing. Leave it out.")
    if option.name == "settings" and isinstance(value, dict):
        from propense.tables.configuration import toml_value

        return [f"{name}={toml_value(inner)}" for name, inner in value.items()]
    if option.name == "prior" and isinstance(value, list | dict):
        from propense.tables.configuration import prior_in_words

        try:
            return prior_in_words(value)
        except (TypeError, ValueError, ArithmeticError):
            raise InvalidOption(
                f"{path}: {key} = {value!r} is not a share, a pair of shares, or shares of groups."
            ) from None
    several = option.multiple or option.nargs != 1
    values = [_one(each, kind, key, path) for each in (value if isinstance(value, list) else [value])]
    if several:
        return values
    if len(values) > 1 and (kind is not str or any("," in each for each in values)):
        raise InvalidOption(f"{path}: {key} = {value!r} must be {_WORDS[kind]}.")
    # Several names where the command line has a list with commas, such as label columns.
    return ",".join(values) if kind is str else values[0]


def _kinds(command: Any) -> dict[str, type]:
    """What each parameter of a command is: bool, int, float, Path or str."""
    found: dict[str, type] = {}
    for name, hint in get_type_hints(inspect.unwrap(command.callback)).items():
        inner = {each for part in (get_args(hint) or (hint,)) for each in (get_args(part) or (part,))}
        found[name] = next((kind for kind in (bool, int, float, Path) if kind in inner), str)
    return found


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _one(value: Any, kind: type, key: str, path: Path) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    right = {
        bool: isinstance(value, bool),
        int: number and isinstance(value, int),
        float: number,
        str: isinstance(value, str) or number,
    }
    if not right[kind]:
        raise InvalidOption(f"{path}: {key} = {value!r} must be {_WORDS[kind]}.")
    return str(value) if kind is str else value
