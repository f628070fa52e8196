"""Operations that read what jobs left in files: logged values and measured usage."""
