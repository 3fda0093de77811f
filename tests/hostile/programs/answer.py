"""The output of a program that has nothing to hide, or has got through."""

ANSWER = "open('/app/output/answer.txt', 'w').write('0.5')\n"
