from .app import main as main
from .tables.files import read_table as read_table
