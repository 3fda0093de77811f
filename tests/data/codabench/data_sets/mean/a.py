import sys
x=[float(v) for v in open(sys.argv[1]+'/data/x.csv')]
open(sys.argv[2]+'/v','w').write(str(sum(x)/len(x)))
