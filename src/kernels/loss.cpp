namespace mylos {}
