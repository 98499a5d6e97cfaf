from ._stepper import stepping_for as stepping_for
