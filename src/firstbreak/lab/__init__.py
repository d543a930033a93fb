"""Real training runs with a known answer: small trainers, faults planted one at a time, and their healthy twins."""
