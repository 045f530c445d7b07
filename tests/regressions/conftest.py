from tests.quick_fits import quick_fits as quick_fits
