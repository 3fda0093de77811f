import sys, os
assert sys.argv[2:] == ['/app/output', '/app/output']
open('/app/program/scratch', 'w').write('x')
open(sys.argv[2] + '/r.txt', 'w').write(str(2 * float(open(sys.argv[1] + '/a.txt').read())))
