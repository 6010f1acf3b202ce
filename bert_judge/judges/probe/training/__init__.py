"""Training of probes: layers chosen, classifiers compared and calibrated, all inside folds by question."""
