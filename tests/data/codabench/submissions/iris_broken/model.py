raise ValueError('my model is broken')
