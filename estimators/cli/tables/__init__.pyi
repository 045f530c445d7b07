from .cells import escape_formula as escape_formula
from .reading import read_table as read_table
from .sheets import check_library as check_library
from .table import BINARY_FORMATS as BINARY_FORMATS
from .table import FORMATS as FORMATS
from .table import Table as Table
from .table import format_of as format_of
from .writing import write_table as write_table
