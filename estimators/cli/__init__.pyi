from .app import main as main
from .labelling.candidates import Asked as Asked
from .labelling.candidates import candidate_pairs as candidate_pairs
from .tables import read_table as read_table
from .tables import write_table as write_table
