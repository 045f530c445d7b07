from .surrogate import SurrogateRegressor as SurrogateRegressor
