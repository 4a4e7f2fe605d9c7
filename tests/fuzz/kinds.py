"""The kinds of input, each by the function that makes a case of it."""

from fuzz.audits import make_audit
from fuzz.models import make_model
from fuzz.more_tables import make_lines, make_workbook
from fuzz.studies import make_ledger, make_plan
from fuzz.tables import make_table
from fuzz.uploads import make_upload

KINDS = {
    "tables": make_table,
    "workbooks": make_workbook,
    "lines": make_lines,
    "models": make_model,
    "audits": make_audit,
    "plans": make_plan,
    "ledgers": make_ledger,
    "uploads": make_upload,
}
