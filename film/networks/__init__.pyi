from .cross_encoder import ScoringHead as ScoringHead
