from .allpairs import allpairs_similarity as allpairs_similarity
from .gradient_cache import cached_backward as cached_backward
from .losses import contrastive_loss as contrastive_loss
from .losses import rank_loss as rank_loss
from .pooling import weighted_mean as weighted_mean
from .rowpairs import rowpairs_similarity as rowpairs_similarity
from .text_batches import Trainable as Trainable
