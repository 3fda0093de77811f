import os, sys
assert sys.argv[1:] == ['/app/shared', '/app/output'], sys.argv
open('/app/shared/x', 'w').write('x')
open('/app/output/scores.txt', 'w').write('s: %s\nh: true\n' % open('/app/input/res/r.txt').read())
