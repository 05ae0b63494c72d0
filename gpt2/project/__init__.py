"""GPT-2 learns to translate: data, model, training, and the two programs that split it."""
