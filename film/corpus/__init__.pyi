from .clusters import cut as cut
from .clusters import link_scores as link_scores
from .groups import connected_groups as connected_groups
from .groups import must_link_path as must_link_path
from .links import merges_of_rows as merges_of_rows
from .links import weakest_links as weakest_links
from .neighbour_pairs import near_pairs as near_pairs
