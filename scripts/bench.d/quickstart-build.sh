# shellcheck shell=bash disable=SC2034,SC2154
# What scripts/quickstart builds, without a cache of the compiler: CPU seconds of configure, make and
# all that they start, for 1,000 lines of the C that is compiled.
turns=1

rows()
{
    echo "quickstart-build s/1000-lines ours<=0.8"
}

# cpu COMMAND...: the CPU seconds of the command and of what it has started.
cpu()
{
    /usr/bin/python3 - "$@" <<'END'
import resource, subprocess, sys

subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
END
}

# The lines of the files of which there are objects.
lines()
{
    (cd "$work/build" && find src share -name '*.o') | sed 's/o$/c/' |
        (cd "$top" && xargs ls 2>/dev/null | xargs cat) | wc -l
}

sample()
{
    local seconds
    rm -rf "$work/build"
    seconds=$(PATH=/usr/bin:/bin cpu "$top/scripts/build" --quickstart "$work/build" \
        --prefix="$work/install") || return
    echo "quickstart-build $(awk -v s="$seconds" -v n="$(lines)" \
        'BEGIN { printf "%.3f", s / n * 1000 }') 0"
}
