from .cells import escape_formula as escape_formula
from .files import Table as Table
from .files import format_of as format_of
from .files import read_table as read_table
from .files import write_table as write_table
