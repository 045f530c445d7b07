from .archive import HEADER as HEADER
from .archive import REGRESSOR as REGRESSOR
from .archive import now as now
from .archive import read_metadata as read_metadata
from .archive import versions as versions
from .models import load_model as load_model
from .models import save_model as save_model
from .registry import savable as savable
