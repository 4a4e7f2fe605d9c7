"""The options of a command from a TOML file: flags win over the file."""

import difflib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from propense.errors import InvalidOption

__all__ = ["Config", "configuration"]

# More is no file of options.
_LARGEST = 1_000_000
# What a file cannot set, because it is about this call: other files, and what is only printed.
_NOT_OPTIONS = ("config", "help", "json")


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options of the file the defaults of this call."""
    if path is None or context.resilient_parsing:
        return path
    known = {key: each for each in context.command.params for key in _keys(each)}
    defaults: dict[str, Any] = {**(context.default_map or {})}
    for key, value in _options(path, context):
        option = known.get(key.replace("_", "-"))
        if option is None or option.name in _NOT_OPTIONS:
            raise InvalidOption(f"{path}: there is no option {key!r}.{_meant(key, known)}")
        if option.name in defaults:
            raise InvalidOption(f"{path}: the option {key!r} is given twice. Leave out one.")
        defaults[str(option.name)] = _converted(value, option, key, path)
    context.default_map = defaults
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help='A TOML file with options by their names, such as label = "reported". Options of the command line win.',
        is_eager=True,
        callback=_read_config,
    ),
]


def configuration(context: typer.Context) -> dict[str, Any]:
    """The options of this call by the names that a file has for them, those with their default value left out."""
    found = {}
    for each in context.command.params:
        source = context.get_parameter_source(str(each.name))
        if each.name in _NOT_OPTIONS or source is None or source.name == "DEFAULT":
            continue
        value = context.params.get(str(each.name))
        if value is not None and value != []:
            found[_keys(each)[0]] = value
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
        raise InvalidOption(f"{path} is not TOML: it has numbers too long, or brackets too deep, to be read.") from None
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
    near = difflib.get_close_matches(key.replace("_", "-"), names, 1, 0.6)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" The options are: {', '.join(names)}."


def _converted(value: Any, option: Any, key: str, path: Path) -> Any:
    """A value as the command line would give it; an error if it is of another type."""
    kind = "true or false" if getattr(option, "is_flag", False) else "text"
    kind = {"integer": "a whole number", "integer range": "a whole number", "float": "a number"}.get(
        option.type.name, kind
    )
    if key == "set" and isinstance(value, dict):
        from propense.tables.configuration import toml_value

        return [f"{name}={toml_value(inner)}" for name, inner in value.items()]
    if key == "prior" and isinstance(value, list | dict):
        from propense.tables.configuration import prior_in_words

        try:
            return prior_in_words(value)
        except (TypeError, ValueError):
            raise InvalidOption(f"{path}: {key} = {value!r} is not a share, two, or those of groups.") from None
    several = getattr(option, "multiple", False) or option.nargs != 1
    if value == []:
        raise InvalidOption(f"{path}: {key} = [] names nothing. Leave it out.")
    if several and isinstance(value, list):
        return [_one(each, kind, key, path) for each in value]
    if isinstance(value, list):
        texts = [_one(each, kind, key, path) for each in value]
        if kind != "text" or (len(texts) > 1 and any("," in each for each in texts)):
            raise InvalidOption(f"{path}: {key} = {value!r} must be {kind}.")
        return ",".join(texts)
    return [_one(value, kind, key, path)] if several else _one(value, kind, key, path)


def _one(value: Any, kind: str, key: str, path: Path) -> Any:
    number, truth = isinstance(value, int | float) and not isinstance(value, bool), isinstance(value, bool)
    right = {
        "true or false": truth,
        "a whole number": number and isinstance(value, int),
        "a number": number,
        "text": isinstance(value, str) or number,
    }[kind]
    if not right:
        raise InvalidOption(f"{path}: {key} = {value!r} must be {kind}.")
    return str(value) if kind == "text" else value
