"""The paper reproduced: every number that it prints is computed again and shown beside the printed one."""
