"""The paper, reproduced: every number that it prints, computed afresh and set beside the printed one."""
