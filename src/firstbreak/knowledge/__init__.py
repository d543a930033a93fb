"""What is known of the ten links: the detectors, causes and experiments that the engine asks. The only place that names one."""
