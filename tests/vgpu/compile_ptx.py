#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the committed PTX of this folder's CUDA sources, so that nobody else needs nvcc.

compile_ptx.py --nvcc NVCC            writes X.ptx beside every X.cu
compile_ptx.py --nvcc NVCC --check    fails if a committed X.ptx is not what X.cu gives

Another version of nvcc may give other PTX: the check is left out (exit status 77) where the version
is not the one that the committed PTX names.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WITH_LINES = (HERE / 'example',)  # findings name lines of the CUDA source
OTHER_COMPILER = 77

# Names of inlined functions, as bytes of a debug section, hold a hash of the path of the source.
BYTE = r'(?:\s*\.b8\s+|,\s*)'
HASH = re.compile(f"({''.join(f'{BYTE}{byte}' for byte in b'_INTERNAL_')})((?:{BYTE}\\d+){{8}})")


def version(nvcc):
    text = subprocess.run([nvcc, '--version'], check=True, capture_output=True, text=True).stdout
    return re.search(r'V(\d+\.\d+\.\d+)', text).group(1)


def head(source, compiler):
    return (f'// SPDX-License-Identifier: Apache-2.0\n'
            f'// Made from {source.name} by compile_ptx.py with nvcc {compiler}.\n')


def compiled(nvcc, source):
    """The PTX without nvcc's comments on itself, with names of files instead of paths, and without
    what depends on where the sources lie."""
    lines = ['-lineinfo'] if source.parent in WITH_LINES else []
    with tempfile.NamedTemporaryFile(suffix='.ptx') as file:
        subprocess.run([nvcc, '-std=c++20', '--expt-relaxed-constexpr', '-ptx', '-arch=compute_90a',
                        '--Werror=all-warnings', '-Xcompiler=-Wall', f'-I{HERE.parent}', *lines,
                        '-o', file.name, source], check=True)
        text = pathlib.Path(file.name).read_text()
    text = '\n'.join(line.rstrip() for line in text.splitlines()
                     if not line.lstrip().startswith('//'))
    text = re.sub(r'^(\s*\.file\s+\d+\s+)".*/([^/"]+)".*$', r'\1"\2"', text, flags=re.MULTILINE)
    text = HASH.sub(lambda match: match[1] + re.sub(r'(?<!b)\d+', '48', match[2]), text)
    return re.sub(r'\n{3,}', '\n\n', text).strip() + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nvcc', required=True)
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    compiler, stale = version(options.nvcc), []
    sources = sorted(HERE.rglob('*.cu'))
    if options.check:
        ours = [source for source in sources
                if source.with_suffix('.ptx').read_text().startswith(head(source, compiler))]
        if not ours:
            print(f'NOT CHECKED: no file was made with nvcc {compiler}')
            return OTHER_COMPILER
        stale += [source.with_suffix('.ptx') for source in sources if source not in ours]
    for source in sources:
        path = source.with_suffix('.ptx')
        text = head(source, compiler) + compiled(options.nvcc, source)
        if not options.check:
            path.write_text(text)
        elif path.read_text() != text and path not in stale:
            stale.append(path)
    for path in stale:
        print(f'{path} is not what its source gives: run compile_ptx.py')
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main())
