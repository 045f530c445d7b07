from .clusters import cut as cut
from .clusters import link_scores as link_scores
from .clusters import must_link_path as must_link_path
from .clusters import weakest_links as weakest_links
from .groups import connected_groups as connected_groups
