"""The evaluation of judges on the attacks of `perturbations.attacks`."""
