"""The kinds of input, each by the function that makes a case of it."""

from fuzz.audits import make_audit
from fuzz.damage import pick
from fuzz.models import make_model
from fuzz.more_tables import make_lines, make_workbook
from fuzz.studies import make_ledger, make_plan
from fuzz.tables import make_table
from fuzz.uploads import make_upload


def make_any(rng):
    """A case of any of the other kinds, so that one process tries them all."""
    return pick(rng, tuple(make for make in KINDS.values() if make is not make_any))(rng)


KINDS = {
    "tables": make_table,
    "workbooks": make_workbook,
    "lines": make_lines,
    "models": make_model,
    "audits": make_audit,
    "plans": make_plan,
    "ledgers": make_ledger,
    "uploads": make_upload,
    "any": make_any,
}
