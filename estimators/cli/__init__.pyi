from .app import main as main
from .tables import read_table as read_table
from .tables import write_table as write_table
