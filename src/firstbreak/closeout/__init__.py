"""What is left when training is over, in one folder that can be checked: `firstbreak closeout`."""
